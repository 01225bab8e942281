"""Import frameworks and packages in their own interpreters, and repeat what fails with one thing changed at a time."""
