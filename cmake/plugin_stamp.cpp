// Part of every plug-in: load_plugin() finds this text in the file and compares it with its own
// before it runs any of the plug-in's code. It is local to each, for several may be loaded.
namespace {
[[gnu::used]] const char stoker_plugin_stamp[] = "@(#)stoker-plugin " STOKER_PLUGIN_STAMP;
}  // namespace
