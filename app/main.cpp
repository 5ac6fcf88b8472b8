#include "app/cli.h"

int main(int argc, char** argv) { return stoker::run_cli(argc, argv); }
