def write(results, out): pass
