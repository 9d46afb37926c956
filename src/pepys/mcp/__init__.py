"""An MCP server over stdio, of the extra `pepys[mcp]` (`pepys mcp`)."""
