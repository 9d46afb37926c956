"""Setting Pepys up in agents: their extension, MCP entry and skill, written where they look, and taken out again."""
