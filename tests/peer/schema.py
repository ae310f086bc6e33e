"""schema: whether a value is what a JSON schema says; as much of the language as doc/api.schema.json has."""
KNOWN = {'$schema', '$defs', '$ref', 'title', 'description', 'type', 'properties', 'required', 'additionalProperties', 'items', 'anyOf',
         'enum', 'const', 'minimum', 'maximum'}
TYPES = {'object': dict, 'array': list, 'string': str, 'boolean': bool, 'null': type(None)}


def has_type(value, name):
    if name in ('integer', 'number'):
        return isinstance(value, (int, float) if name == 'number' else int) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def faults(value, schema, whole, path='$'):
    """What is wrong, a line each."""
    assert set(schema) <= KNOWN, set(schema) - KNOWN
    if '$ref' in schema:
        yield from faults(value, whole['$defs'][schema['$ref'].rsplit('/', 1)[1]], whole, path)
    if 'anyOf' in schema:
        tries = [list(faults(value, one, whole, path)) for one in schema['anyOf']]
        if all(tries):
            yield '%s is none of %d: %s' % (path, len(tries), min(tries, key=len))
    if 'const' in schema and value != schema['const'] or 'enum' in schema and value not in schema['enum']:
        yield '%s is %r' % (path, value)
    if 'type' in schema and not has_type(value, schema['type']):
        yield '%s is no %s: %r' % (path, schema['type'], value)
        return
    if isinstance(value, (int, float)) and not schema.get('minimum', value) <= value <= schema.get('maximum', value):
        yield '%s is %r' % (path, value)
    if isinstance(value, dict) and 'properties' in schema:
        yield from ('%s lacks %s' % (path, key) for key in schema.get('required', ()) if key not in value)
        for key, one in value.items():
            if key in schema['properties']:
                yield from faults(one, schema['properties'][key], whole, path + '.' + key)
            elif schema.get('additionalProperties') is False:
                yield '%s has %s' % (path, key)
    if isinstance(value, list) and 'items' in schema:
        for number, one in enumerate(value):
            yield from faults(one, schema['items'], whole, '%s[%d]' % (path, number))
