// Texts and values near the edge of what is allowed, made from a seed.

/** A source of choices that a seed fixes (mulberry32). */
export function createChoices(seed) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const int = (below) => Math.floor(next() * below)
  const pick = (list) => list[int(list.length)]
  const list = (max, make) => Array.from({ length: int(max + 1) }, make)
  return { next, int, pick, list, chance: (share) => next() < share }
}

const NUMBERS = [
  0,
  -0,
  1,
  -1,
  0.1,
  1e-320,
  1e308,
  -1e308,
  2 ** 31,
  -(2 ** 31),
  2 ** 53,
  2 ** 53 + 2,
  1e21,
  180,
  90,
  181,
  139.7,
  35.6,
]
const STRINGS = [
  ...[
    '',
    ' ',
    'x',
    'NaN',
    'Infinity',
    'null',
    '__proto__',
    'constructor',
    'toString',
    '%',
    '_',
    '\\',
    '\u0000',
    '\ud83d\ude00',
    'あ',
  ],
  ...[
    "'; DROP TABLE x; --",
    '"',
    '../../etc/passwd',
    'ddc:fuzz',
    'event.fuzz_tbl_0',
    'fuzz',
    'x'.repeat(300),
    '$',
    '\n',
    '-1',
    '1e400',
  ],
]
const COLUMNS = [
  'id',
  'note',
  'mm',
  'at',
  'location',
  'start_datetime',
  'end_datetime',
  'nothing',
  '',
  'rowid',
  '_rowid_',
  'id"',
  'ID',
]
const OPERATORS = [
  '=',
  '<>',
  '<',
  '<=',
  '>',
  '>=',
  '==',
  '!=',
  'and',
  'or',
  'not',
  'in',
  'like',
  'is_null',
  'between',
  'intersects',
  'within',
  'xor',
  '',
]

/** Any JSON value. */
export function anyValue(c, depth = 0) {
  const kind = c.int(depth > 3 ? 5 : 9)
  if (kind === 0) return c.pick(NUMBERS)
  if (kind === 1) return c.pick(STRINGS)
  if (kind === 2) return c.pick([true, false, null])
  if (kind === 3) return datetime(c)
  if (kind === 4) return (c.next() - 0.5) * 10 ** c.int(20)
  if (kind === 5) return geometry(c)
  if (kind === 6) return c.list(4, () => anyValue(c, depth + 1))
  if (kind === 7) return { _type: 'datetime', val: datetime(c) }
  return Object.fromEntries(
    c.list(4, () => [c.pick([...STRINGS, ...COLUMNS, ...OPERATORS]), anyValue(c, depth + 1)]),
  )
}

/** A condition, most of it as it should be. */
export function condition(c, depth = 0) {
  if (c.chance(0.03)) return anyValue(c)
  const op = c.pick(OPERATORS)
  if (op === 'and' || op === 'or') return { [op]: c.list(depth > 3 ? 1 : 4, () => condition(c, depth + 1)) }
  if (op === 'not') return { not: c.chance(0.8) ? condition(c, depth + 1) : [condition(c, depth + 1)] }
  if (op === 'is_null') return { is_null: [c.pick(COLUMNS)] }
  if (op === 'in') return { in: [c.pick(COLUMNS), c.list(5, () => anyValue(c, 3))] }
  if (op === 'between') return { between: [c.pick(COLUMNS), anyValue(c, 3), anyValue(c, 3)] }
  if (op === 'intersects' || op === 'within') return { [op]: [c.pick(COLUMNS), geometry(c)] }
  const one = { [op]: [c.pick(COLUMNS), c.chance(0.9) ? anyValue(c, 3) : anyValue(c)] }
  return c.chance(0.03) ? { ...one, and: [] } : one
}

const TYPES = [
  'Point',
  'MultiPoint',
  'LineString',
  'MultiLineString',
  'Polygon',
  'MultiPolygon',
  'GeometryCollection',
  'point',
  '',
]
const DEPTHS = { Point: 0, MultiPoint: 1, LineString: 1, MultiLineString: 2, Polygon: 2, MultiPolygon: 3 }

/** A GeoJSON geometry, now and then with a fault. */
export function geometry(c, depth = 0) {
  const type = c.pick(TYPES)
  if (type === 'GeometryCollection')
    return { type, geometries: c.list(depth > 2 ? 0 : 3, () => geometry(c, depth + 1)) }
  const wanted = DEPTHS[type] ?? c.int(4)
  return { type, coordinates: coordinates(c, c.chance(0.05) ? c.int(5) : wanted) }
}

function coordinates(c, depth) {
  if (depth <= 0) return position(c)
  const items = c.list(6, () => coordinates(c, depth - 1))
  const isRing = depth === 1 && items.length > 2 && c.chance(0.7)
  return isRing ? [...items, items[0]] : items
}

function position(c) {
  if (c.chance(0.03)) return anyValue(c, 4)
  const near = () => (c.chance(0.05) ? c.pick(NUMBERS) : 0)
  const lnglat = [139 + c.int(100) / 100 + near(), 35 + c.int(100) / 100 + near()]
  return c.chance(0.05) ? [...lnglat, 5] : lnglat
}

/** A datetime of any spelling, with or without a fault. */
export function datetime(c) {
  const two = (max) => String(c.chance(0.03) ? c.int(100) : 1 + c.int(max)).padStart(2, '0')
  const year = c.pick(['2025', '2024', '1970', '0001', '9999', '0000', '1900', '2000', '25', '-001', '10000'])
  const time = `${two(23)}:${two(59)}:${c.chance(0.05) ? '60' : two(59)}`
  const fraction = c.pick(['', '', '.', '.0', '.123456', '.1234567', ',5'])
  const offset = c.pick(['', 'Z', '+09', '+0900', '+09:00', '-00:00', '+24:00', '+9', ' +09:00', 'z'])
  const text = `${year}-${two(12)}-${two(31)}${c.pick(['T', ' ', 't', '', '  '])}${time}${fraction}${offset}`
  return c.chance(0.15) ? mutateText(c, text) : text
}

/** Well-known text of a geometry, with or without a fault. */
export function wkt(c, depth = 0) {
  const type = c.pick([
    'POINT',
    'MULTIPOINT',
    'LINESTRING',
    'MULTILINESTRING',
    'POLYGON',
    'MULTIPOLYGON',
    'GEOMETRYCOLLECTION',
    'point',
    'SRID=4326;POINT',
  ])
  const number = () => c.pick(['0', '-0', '1e2', '139.7', '35.6', '.5', '1.', 'NaN', '1e400', '+3', '--1'])
  const pair = () => `${number()} ${number()}${c.chance(0.1) ? ` ${number()}` : ''}`
  const inner = (levels) =>
    `(${c.list(5, () => (levels <= 1 ? pair() : inner(levels - 1))).join(c.pick([',', ', ', ' ,', ';']))})`
  if (type === 'GEOMETRYCOLLECTION' && depth < 4)
    return `${type}(${c.list(3, () => wkt(c, depth + 1)).join(',')})`
  const text = `${type}${c.pick(['', ' ', ' Z', ' EMPTY'])}${inner(1 + c.int(3))}`
  return c.chance(0.2) ? mutateText(c, text) : text
}

/** A few letters lost, doubled or replaced. */
export function mutateText(c, text) {
  let out = text
  for (let n = 1 + c.int(3); n > 0; n--) {
    const at = c.int(out.length + 1)
    const length = c.int(4)
    const put = c.pick([
      '',
      out.slice(at, at + length),
      c.pick(STRINGS),
      String.fromCharCode(c.int(256)),
      '{',
      '}',
      '[',
      ']',
      '"',
      '\\u',
    ])
    out = out.slice(0, at) + put + out.slice(at + length)
  }
  return out
}

/** A few bytes changed, cut off or doubled. */
export function mutateBytes(c, bytes) {
  let out = Buffer.from(bytes)
  for (let n = 1 + c.int(4); n > 0; n--) {
    const at = c.int(out.length + 1)
    const kind = c.int(5)
    if (kind === 0) out = out.subarray(0, at)
    else if (kind === 1) out = Buffer.concat([out.subarray(0, at), out.subarray(Math.max(0, at - c.int(64)))])
    else if (kind === 2 && out.length >= at + 4)
      out.writeUInt32LE(c.pick([0, 1, 2 ** 31, 2 ** 32 - 1, c.int(2 ** 31)]), at)
    else if (at < out.length) out[at] = c.int(256)
  }
  return out
}

/** JSON text that is not quite what `JSON.stringify` would write. */
export function jsonText(c, value) {
  const text = JSON.stringify(value) ?? 'undefined'
  if (c.chance(0.6)) return text
  if (c.chance(0.3))
    return text.replace(/[0-9]+/, () => c.pick(['1e999', '-', '0x1', '01', '1.', '9'.repeat(400)]))
  if (c.chance(0.2))
    return text.replace(/"[^"]*"/, () => c.pick(['"\\ud800"', '"\\u0000"', '"\\x"', "'a'", '"\u2028"']))
  if (c.chance(0.2)) return text.replace('{', '{"jsonrpc":"2.0","jsonrpc":"1.0","__proto__":{"x":1},')
  if (c.chance(0.1)) return '['.repeat(c.int(200)) + text
  return mutateText(c, text)
}

/** A value by a JSON Schema (draft 7), each part replaced by anything now and then. */
export function bySchema(c, schema, depth = 0) {
  if (c.chance(0.06) || depth > 8 || schema === undefined || schema === true)
    return anyValue(c, Math.min(depth, 4))
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return bySchema(c, c.pick(choices), depth)
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return c.pick(schema.enum)
  if (schema.type === 'object') return objectBy(c, schema, depth)
  if (schema.type === 'array') return arrayBy(c, schema, depth)
  if (schema.type === 'string')
    return c.chance(0.4) ? c.pick(['fuzz', 'fuzz-cited', 'demo']) : c.pick([datetime(c), ...STRINGS])
  if (schema.type === 'integer') return c.chance(0.7) ? c.int(20) : c.pick(NUMBERS)
  if (schema.type === 'number') return c.chance(0.7) ? 139 + c.next() : c.pick(NUMBERS)
  if (schema.type === 'boolean') return c.chance(0.5)
  return anyValue(c, 3)
}

function objectBy(c, { properties = {}, required = [], additionalProperties }, depth) {
  const entries = Object.entries(properties).filter(([key]) =>
    required.includes(key) ? c.chance(0.97) : c.chance(0.4),
  )
  const made = entries.map(([key, child]) => [
    key,
    /cond|query/.test(key) ? condition(c) : bySchema(c, child, depth + 1),
  ])
  if (typeof additionalProperties === 'object')
    made.push(
      ...c.list(3, () => [c.pick([...COLUMNS, 'flood']), bySchema(c, additionalProperties, depth + 1)]),
    )
  if (c.chance(0.03)) made.push([c.pick(STRINGS), anyValue(c, 3)])
  return Object.fromEntries(made)
}

function arrayBy(c, { items, prefixItems, minItems = 0 }, depth) {
  const tuple = Array.isArray(items) ? items : prefixItems
  if (tuple !== undefined) return tuple.map((item) => bySchema(c, item, depth + 1))
  return Array.from({ length: Math.min(minItems, 20) + c.int(4) }, () => bySchema(c, items, depth + 1))
}
