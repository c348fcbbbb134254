/** Reasons why a file of rows is not read: name → English text; `{name}` is replaced by a value. */
export const FILE_FAULTS = {
  EMPTY: 'the file has no rows',
  UNKNOWN_FORMAT: 'found the name {name}, expected {expected}',
  SHAPEFILE: 'found a Shapefile ({name}): convert it to GeoPackage first, for example with ogr2ogr',
  ENCODING: 'line {line} is not {encoding}: choose the encoding of the file ({choices})',
  NUL: 'line {line} has a NUL character: the file is not text in {encoding} ({choices})',
  SEPARATOR: 'found {found} as possible separators: choose one',
  QUOTE: 'line {line}: found a quote inside a value; quote the whole value and double the quotes in it',
  OPEN_QUOTE: 'line {line}: found a quote that is not closed',
  LONG_ROW: 'line {line}: found a row of more than {limit} characters; a quote may be unclosed',
  CELLS: 'line {line}: found {found} values, expected {expected} as in the first line',
  TWO_COLUMNS: 'found two columns named {name}: rename one',
  BAD_JSON: '{place}: found text that is not JSON ({reason})',
  NOT_FEATURE: '{place}: found {found}, expected a Feature or an object',
  NOT_COLLECTION: 'found {found}, expected a FeatureCollection or an array of objects',
  TOO_LARGE: 'found more than {limit} of data, which this page cannot hold: use fieldgate data import',
  BAD_ARCHIVE: 'the archive cannot be read: {reason}',
  NO_ENTRY: 'the archive holds no file that can be imported: found {found}, expected {expected}',
  BAD_DATABASE: 'the GeoPackage cannot be read: {reason}',
  BAD_CRS: 'found coordinates of EPSG:{srid}, expected EPSG:4326: convert the file first',
} as const

export type FileFaultName = keyof typeof FILE_FAULTS

/** A file, or a row of it, that cannot be read. */
export interface FileFault extends Error {
  readonly fileFault: FileFaultName
  readonly values: Readonly<Record<string, string | number>>
}

/** Creates a fault; its message is the English text. */
export function fileFault(
  name: FileFaultName,
  values: Readonly<Record<string, string | number>> = {},
): FileFault {
  const text: string = FILE_FAULTS[name]
  const message = text.replace(/\{(\w+)\}/g, (whole, key: string) => String(values[key] ?? whole))
  return Object.assign(new Error(message), { fileFault: name, values })
}

/** Returns true for a fault of a file. */
export function isFileFault(error: unknown): error is FileFault {
  return error instanceof Error && 'fileFault' in error
}
