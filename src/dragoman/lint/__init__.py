"""What ``check``, ``repair`` and ``detect`` share: rules, repair passes, evidence."""
