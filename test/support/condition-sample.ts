import type { LoaderTable } from '../../src/storage/tables.js'
import type { TablesWorld } from './conformance/tables/world.js'
import { feature } from './tables.js'

export const COLUMNS = [
  { name: 'n', udtName: 'int4' as const },
  { name: 'big', udtName: 'int8' as const },
  { name: 'x', udtName: 'float8' as const },
  { name: 'single', udtName: 'float4' as const },
  { name: 'name', udtName: 'text' as const },
  { name: 'padded', udtName: 'bpchar' as const, length: 4 },
  { name: 'flag', udtName: 'bool' as const },
  { name: 'at', udtName: 'timestamptz' as const },
  { name: 'hour', udtName: 'timetz' as const },
  { name: 'day', udtName: 'date' as const },
  { name: 'raw', udtName: 'bytea' as const },
  { name: 'shape', udtName: 'geometry' as const, srid: 4326 },
  { name: 'secret', udtName: 'text' as const, isEncrypted: true },
]

interface Sample {
  readonly tables: TablesWorld
  readonly table: LoaderTable
  /** numbers of the rows of a condition */
  ask(conds: unknown): Promise<unknown[]>
}

/** Makes a table with a few rows of every type in some tables. */
export async function openSample(tables: TablesWorld): Promise<Sample> {
  const table = await tables.register('sample', COLUMNS, ['n'])
  const rows = [
    {
      n: 1,
      big: '9223372036854775807',
      x: 1.5,
      single: 0.1,
      name: 'Alpha',
      padded: 'ab',
      flag: true,
      at: '2025-01-01 00:00:00+09',
      hour: '09:00:00+09:00',
      day: '2025-01-01',
      raw: 'AAE=',
      secret: 'hidden',
    },
    {
      n: 2,
      big: 5,
      x: 'NaN',
      single: 2.5,
      name: 'alpha*beta',
      padded: 'abcd',
      flag: false,
      at: '2025-01-02 00:00:00+09',
      hour: '01:00:00+00:00',
      day: '2025-01-02',
      raw: 'AQ==',
    },
    {
      n: 3,
      big: -5,
      x: 'Infinity',
      single: -1,
      name: '50%_[x]',
      padded: 'a',
      flag: null,
      at: '9999-12-31 00:00:00+00',
      hour: '23:00:00-02:00',
      day: '9999-12-31',
      raw: '',
    },
    { n: 4 },
  ]
  await tables.put(
    table,
    rows.map((row) =>
      feature([139 + (row.n ?? 0), 35], {
        ...row,
        shape: row.n === 4 ? null : { type: 'Point', coordinates: [row.n, 0] },
      }),
    ),
  )
  const ask = async (conds: unknown) =>
    (await tables.read(table, { conds })).map(({ properties }) => properties.n)
  return { tables, table, ask }
}
