"""JSON-RPC 2.0 over stdio: what the extensions inside hosts talk to (`pepys serve`)."""
