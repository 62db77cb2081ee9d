"""What every layer above stands on: reading, writing, field tables, capabilities and lowering."""
