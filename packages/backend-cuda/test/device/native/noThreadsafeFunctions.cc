// Linked with --wrap=napi_create_threadsafe_function: Node refuses every function of this kind.
extern "C" int __wrap_napi_create_threadsafe_function() { return 9; }
