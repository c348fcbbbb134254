import path from 'node:path'
import { type ExportFormat, exportState } from '../../src/storage/formats/export.js'
import { createKeyring } from '../../src/storage/keyring.js'
import { columns, definition, type OpenedDatasets, openDatasets } from './datasets.js'
import { TIME_ZONE_MIN } from './tables.js'

/** A column of every type, and what is hard to carry in each. */
export const EVERY_TYPE = columns(
  'key int',
  'big bigint?',
  'small smallint?',
  'double double precision?',
  'single real?',
  'exact numeric?',
  'money numeric(10,2)?',
  'name varchar(20)?',
  'padded character(4)?',
  'words text?',
  'flag boolean?',
  'at timestamptz?',
  'local timestamp?',
  'day date?',
  'hour time?',
  'hour_zone timetz?',
  'place geometry?',
  'area geometry(Polygon,4326)?',
  'facts json?',
  'bytes bytea?',
)

export const POLYGON = {
  type: 'Polygon',
  coordinates: [
    [
      [0, 0],
      [1, 0],
      [1, 1],
      [0, 0],
    ],
  ],
}
export const NESTED = {
  type: 'GeometryCollection',
  geometries: [
    { type: 'Point', coordinates: [139.7, 35.6, 12.5] },
    {
      type: 'GeometryCollection',
      geometries: [
        {
          type: 'MultiPoint',
          coordinates: [
            [1, 2],
            [3, 4],
          ],
        },
      ],
    },
    { type: 'LineString', coordinates: [] },
  ],
}
export const HARD: unknown[][] = [
  [
    1,
    '9223372036854775807',
    -32768,
    'NaN',
    'NaN',
    '12345678901234567890.12345678901234567890',
    '1.50',
    '',
    'ab',
    '',
    true,
    '2025-01-02 03:04:05.678901+09',
    '0001-01-01 00:00:00.000001',
    '9999-12-31',
    '24:00:00',
    '03:04:05.678901+05:30',
    NESTED,
    POLYGON,
    { a: [1, null, { b: '𝄞"\\\n' }], ключ: 1e-7 },
    'AAEC/w==',
  ],
  [
    2,
    '-9223372036854775808',
    32767,
    'Infinity',
    '-Infinity',
    'NaN',
    '-0.05',
    '🚧 a,"b"\r\nc',
    '    ',
    ' both ends ',
    false,
    '0001-01-01 00:00:00+00',
    '9999-12-31 23:59:59.999999',
    '0001-01-01',
    '00:00:00.000001',
    '23:59:59-12:00',
    { type: 'Point', coordinates: [-180, -90] },
    null,
    [],
    '',
  ],
  [
    3,
    9007199254740991,
    0,
    5e-324,
    1.1754943508222875e-38,
    '1.00',
    '0',
    'null',
    'a',
    'NULL',
    null,
    '9999-12-31 23:59:59.999999+00',
    '2025-01-02 03:04:05',
    '2024-02-29',
    '12:00',
    null,
    { type: 'MultiPolygon', coordinates: [] },
    null,
    'text',
    'YQ==',
  ],
  [4, ...Array(19).fill(null)],
]

export const options = ({ data }: OpenedDatasets) => ({
  db: data.reader,
  env: { timeZoneMin: TIME_ZONE_MIN, nowUs: 0n },
  keyring: createKeyring(new Uint8Array(32).fill(7)),
  readFile: async (digest: string) => Buffer.from(`bytes of ${digest}`),
})

export async function exported(
  opened: OpenedDatasets,
  label: string,
  format: ExportFormat,
  file: string,
): Promise<number> {
  const citation = await opened.stores.citations.find(label)
  if (citation === undefined) throw new Error('no citation')
  return await exportState(citation, format, file, options(opened))
}

export async function openHard(t: { testdir(): string; teardown(work: () => unknown): unknown }) {
  const dir = t.testdir()
  const opened = openDatasets(path.join(dir, 'data.db'))
  t.teardown(() => opened.close())
  await opened.store.create(definition('hard', EVERY_TYPE, ['key']))
  await opened.store.put('hard', HARD, 'error')
  const { longForm } = await opened.store.cite('paper', 'hard')
  await opened.store.deleteRecords('hard', {})
  return { dir, opened, longForm }
}
