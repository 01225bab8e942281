"""The part of the trial script that carries out the first lines of a person's program; for any Python from 3.6 on."""

PROGRAM_START = r'''
def program(path):
    """Carry out a program's imports in their order, with what it says of sys.path and of variables before them, and nothing else."""
    import ast
    with open(path, "rb") as stream:
        tree = ast.parse(stream.read(), path)
    if sys.path[:1] == [""]:
        sys.path[0] = os.path.dirname(os.path.realpath(path))  # as for a script, instead of for -c
    sys.argv[:] = [path]
    space = {"__name__": "__convalesce_trial__", "__file__": path, "__builtins__": __builtins__}
    bound = set()
    for node in first_lines(tree.body):
        tree.body = [node]
        exec(compile(tree, path, "exec"), space)
        bound |= {(a.asname or a.name).partition(".")[0] for a in getattr(node, "names", ())}
    emit(stage="import")
    with open(path, "rb") as stream:
        body = ast.parse(stream.read(), path).body
    for chain, node in used_names(body, bound):
        at = space.get(chain[0])
        for name in chain[1:]:
            if not isinstance(at, type(sys)):
                break
            tree.body = [ast.copy_location(ast.Expr(chained(chain[: chain.index(name) + 1])), node)]
            ast.fix_missing_locations(tree)
            exec(compile(tree, path, "exec"), space)
            at = getattr(at, name)
    emit(stage="devices")


def chained(names):
    import ast
    node = ast.Name(names[0], ast.Load())
    for name in names[1:]:
        node = ast.Attribute(node, name, ast.Load())
    return node


def is_main(node):
    import ast
    return isinstance(node, ast.If) and any(isinstance(n, ast.Name) and n.id == "__name__" for n in ast.walk(node.test))


def first_lines(body):
    """The imports, and the lines about sys.path and os.environ, wherever they are carried out for certain."""
    import ast
    for node in body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            if getattr(node, "module", "") != "__future__":
                yield node
        elif isinstance(node, ast.Try) and all(isinstance(n, (ast.Import, ast.ImportFrom)) for n in node.body):
            simple = (ast.Import, ast.ImportFrom, ast.Assign, ast.Pass)
            if all(isinstance(n, simple) for h in node.handlers for n in h.body) and not node.orelse and not node.finalbody:
                yield node
        elif isinstance(node, (ast.Expr, ast.Assign)) and is_about_surroundings(node):
            yield node
        elif is_main(node):
            for inner in first_lines(node.body):
                yield inner


def is_about_surroundings(node):
    import ast
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    touched = {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    known = {"os", "sys", "__file__", "str", "Path", "pathlib"}
    return names <= known and bool(touched & {"environ", "path"}) and bool(names & {"os", "sys"}) and not touched & {
        "system", "remove", "unlink", "rmdir", "makedirs", "mkdir", "rename", "exit", "write_text", "write_bytes", "kill", "execv"
    }


def used_names(body, bound):
    """The dotted names of imported modules that straight lines of the program use."""
    import ast
    for node in body:
        if is_main(node):
            for pair in used_names(node.body, bound):
                yield pair
        if not isinstance(node, (ast.Expr, ast.Assign)):
            continue
        for inner in ast.walk(node):
            chain, at = [], inner
            while isinstance(at, ast.Attribute):
                chain.append(at.attr)
                at = at.value
            if chain and isinstance(at, ast.Name) and at.id in bound and isinstance(inner.ctx, ast.Load):
                yield [at.id] + chain[::-1], node
'''
