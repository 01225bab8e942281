"""Rules about variables that name places or mean a contract."""
