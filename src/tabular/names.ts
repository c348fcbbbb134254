/** Names of columns that hold the start of a record, the more usual ones first. */
const START_NAMES = [
  ...['start_datetime', 'datetime', 'date_time', 'timestamp', 'time', 'start', 'start_time', 'starttime'],
  ...['observed_at', 'measured_at', 'recorded_at', 'created_at', 'ts', 'date', 'day', 'epoch'],
  ...['日時', '時刻', '観測日時', '開始日時', '測定日時', '日付'],
]
const END_NAMES = ['end_datetime', 'end', 'end_time', 'endtime', 'until', '終了日時']
export const LNG_NAMES = ['lng', 'lon', 'long', 'longitude', 'x', '経度']
export const LAT_NAMES = ['lat', 'latitude', 'y', '緯度']
export const GEOMETRY_NAMES = ['location', 'geometry', 'geom', 'the_geom', 'wkt', 'wkb', 'geojson']

/** Names that no column of a file may have in a table. */
const RESERVED = ['start_datetime', 'end_datetime', 'location', '_origin', 'table']
const MAX_NAME = 63

/** Position of a name among the usual ones, ignoring case; -1 when it is none. */
function rankIn(names: readonly string[], name: string): number {
  return names.indexOf(name.trim().toLowerCase())
}

export function startRank(name: string): number {
  return rankIn(START_NAMES, name)
}

export function endRank(name: string): number {
  return rankIn(END_NAMES, name)
}

/** True for names such as `time`, `created_at` and `epoch_ms`, whose whole numbers may be times. */
export function soundsLikeTime(name: string): boolean {
  return startRank(name) !== -1 || endRank(name) !== -1 || /time|date|stamp|epoch|_at$|時/i.test(name)
}

/** True for names such as `id`, `station_code` and `uuid`. */
export function soundsLikeId(name: string): boolean {
  return /(^|[_\-. ])(id|code|key|no|number|uuid|guid|devEui)$|^(id|uuid)|Id$|番号$|コード$/.test(name)
}

/** True for names such as `station` and `device`, of which there are several records each. */
export function soundsLikeSeries(name: string): boolean {
  return /station|device|sensor|site|gauge|vehicle|node|meter|probe|name|局|地点|機器|名/i.test(name)
}

/**
 * Returns a name that a table may have for a column: letters, digits, `_`, `-` and `.`.
 *
 * @param taken lower-case names of earlier columns; the new one is added
 */
export function columnName(source: string, taken: Set<string>): string {
  const clean = source
    .trim()
    .replace(/[^\p{L}\p{M}\p{Nd}_.-]+/gu, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, MAX_NAME)
  const base = clean === '' || /^\.+$/.test(clean) ? 'column' : clean
  let name = base
  for (let n = 2; taken.has(name.toLowerCase()) || RESERVED.includes(name.toLowerCase()); n++)
    name = `${base.slice(0, MAX_NAME - 4)}_${n}`
  taken.add(name.toLowerCase())
  return name
}

/** Returns a name for the table of a file: `Rain 2026.csv` gives `Rain_2026`. */
export function tableNameOf(file: string): string {
  const stem = file
    .replace(/^.*[\\/]/, '')
    .replace(/\.(gz|zip)$/i, '')
    .replace(/\.[a-z0-9]{2,8}$/i, '')
  const name = columnName(stem, new Set())
  return /^sqlite_/i.test(name) ? `t_${name}`.slice(0, MAX_NAME) : name
}
