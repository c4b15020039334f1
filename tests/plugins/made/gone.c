int timcl_test_gone(void);
__attribute__((visibility("default"))) int timcl_test_gone(void) { return 7; }
