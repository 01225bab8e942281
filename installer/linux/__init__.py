"""The Linux packages: a tarball with one folder, and a .deb."""
