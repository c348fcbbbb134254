import { boxPolygon } from './boxes.js'

export const ROWS = 25

/** Definition of a table with a column of every kind that features show. */
export const RAIN = {
  ...{ data_name: 'rain', unique_columns: ['hits'] },
  record_def: {
    gauge: { udt_name: 'varchar', length: 20 },
    mm: { udt_name: 'float8' },
    depth: { udt_name: 'float4', is_nullable: true },
    hits: { udt_name: 'int4' },
    total: { udt_name: 'int8' },
    code: { udt_name: 'bpchar', length: 6, is_nullable: true },
    wet: { udt_name: 'bool' },
    day: { udt_name: 'date' },
    at: { udt_name: 'timetz', is_nullable: true },
    bytes: { udt_name: 'bytea', is_nullable: true },
    note: { udt_name: 'text', need_crypto: true },
  },
}

/** Geometries of each kind: most are points, one is null. */
function geometryOf(n: number): object | null {
  const [lng, lat] = [n / 10 - 5, n / 10 - 5]
  if (n === 3) return null
  if (n === 5) return boxPolygon(lng, lat, lng + 0.25, lat + 0.25)
  const end = [lng + 0.3, lat]
  return n === 7
    ? { type: 'LineString', coordinates: [[lng, lat], end] }
    : { type: 'Point', coordinates: [lng, lat] }
}

/** Row `n` lasts an hour from hour `n`; the last one has no end. */
export function rowOf(n: number): object {
  const hour = (h: number) => new Date(Date.UTC(2026, 0, 1, h)).toISOString()
  return {
    ...{ type: 'Feature', geometry: geometryOf(n) },
    properties: {
      ...{ start_datetime: hour(n), end_datetime: n === ROWS - 1 ? null : hour(n + 1) },
      ...{ gauge: `g${n % 10} "é"`, mm: n % 2 === 0 ? n : n + 0.1, depth: n === 4 ? null : n / 3, hits: n },
      ...{ total: n === 9 ? '9007199254740993' : n, code: n === 4 ? null : `c${n}`, wet: n % 2 === 0 },
      ...{
        day: '2026-01-01',
        at: n === 4 ? null : '10:20:30.5+09',
        bytes: n === 4 ? null : 'AAEC/w==',
      },
      note: `secret ${n}`,
    },
  }
}
