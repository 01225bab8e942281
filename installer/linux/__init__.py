"""The Linux packages: a tarball with one folder, a .deb and an .rpm."""
