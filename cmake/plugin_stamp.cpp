// Part of every plug-in: load_plugin() finds this text in the file and compares it with its own
// before it runs any of the plug-in's code.
extern "C" {
extern const char stoker_plugin_stamp[];
[[gnu::used]] const char stoker_plugin_stamp[] = "@(#)stoker-plugin " STOKER_PLUGIN_STAMP;
}
