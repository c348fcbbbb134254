import type { FileFault, FileFaultName } from '../../tabular/faults.js'
import { t, type Word } from '../core/i18n.js'

/** Texts of what can be wrong with a file. */
const WORDS: Record<FileFaultName, Word> = {
  EMPTY: 'fileEmpty',
  UNKNOWN_FORMAT: 'fileUnknownFormat',
  SHAPEFILE: 'fileShapefile',
  ENCODING: 'fileEncoding',
  NUL: 'fileNul',
  SEPARATOR: 'fileSeparator',
  QUOTE: 'fileQuote',
  OPEN_QUOTE: 'fileOpenQuote',
  LONG_ROW: 'fileLongRow',
  CELLS: 'fileCells',
  TWO_COLUMNS: 'fileTwoColumns',
  BAD_JSON: 'fileBadJson',
  NOT_FEATURE: 'fileNotFeature',
  NOT_COLLECTION: 'fileNotCollection',
  TOO_LARGE: 'fileTooLarge',
  BAD_ARCHIVE: 'fileBadArchive',
  NO_ENTRY: 'fileNoEntry',
  BAD_DATABASE: 'fileBadDatabase',
  BAD_CRS: 'fileBadCrs',
}

/** Text of a fault of a file in the language of the page. */
export function fileFaultText({ fileFault, values }: FileFault): string {
  const { place, ...rest } = values
  return t(WORDS[fileFault], place === undefined ? rest : { ...rest, place: placeText(String(place)) })
}

/** `line 3`, `record 3` or `the file` in the language of the page. */
function placeText(place: string): string {
  const [, kind, n = ''] = /^(line|record) (\d+)$/.exec(place) ?? []
  if (kind === undefined) return t('fileWhole')
  return t(kind === 'line' ? 'importLine' : 'importRecord', { n })
}
