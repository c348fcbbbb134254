import { PbfReader } from 'pbf'
import { AppError, messageOf } from '../../errors.js'
import { badExtract } from './blobs.js'

/** Header of an extract. */
export interface ExtractHeader {
  /** [west, south, east, north], degrees; null when missing or impossible */
  bbox: [number, number, number, number] | null
  /** time of the data, ISO 8601; null when missing */
  replicatedAt: string | null
  writtenBy: string
}

/** Field numbers of `HeaderBlock` in osmformat.proto. */
const FIELD = { bbox: 1, required: 4, optional: 5, writingProgram: 16, replicatedAtS: 32 } as const
const READABLE = new Set(['OsmSchema-V0.6', 'DenseNodes'])
const DEGREES_PER_UNIT = 1e-9

/**
 * Reads the OSMHeader blob.
 *
 * @param offset of the blob, for messages
 * @throws AppError BAD_EXTRACT naming a required feature that this reader lacks
 */
export function readExtractHeader(bytes: Uint8Array, offset: number): ExtractHeader {
  const pbf = new PbfReader(bytes)
  const header: ExtractHeader = { bbox: null, replicatedAt: null, writtenBy: '' }
  try {
    for (let field = pbf.nextField(); field !== 0; field = pbf.nextField()) {
      if (field === FIELD.bbox) header.bbox = readBbox(new PbfReader(pbf.readBytes()))
      else if (field === FIELD.required) checkFeature(pbf.readString(), offset)
      else if (field === FIELD.writingProgram) header.writtenBy = pbf.readString()
      else if (field === FIELD.replicatedAtS) header.replicatedAt = isoTime(pbf.readVarint(true))
    }
  } catch (error) {
    if (error instanceof AppError) throw error
    throw badExtract(offset, `the header of the extract cannot be read (${messageOf(error)})`, error)
  }
  if (pbf.pos !== bytes.length) throw badExtract(offset, 'the header of the extract is damaged')
  return header
}

/**
 * Formats a time of OSM data as ISO 8601; null for an impossible one (before 2004, or after the year 9999).
 */
export function isoTime(epochS: number): string | null {
  const isSane = epochS > 1_072_915_200 && epochS < 253_402_300_800
  return isSane ? new Date(epochS * 1000).toISOString().replace('.000Z', 'Z') : null
}

function checkFeature(feature: string, offset: number): void {
  if (READABLE.has(feature)) return
  if (feature === 'HistoricalInformation') {
    throw badExtract(
      offset,
      'this is a history file, with every version of each object; expected an extract of one moment (osmium time-filter makes one)',
    )
  }
  throw badExtract(
    offset,
    `the extract needs the feature ${JSON.stringify(feature)}; this reader has ${[...READABLE].join(' and ')}`,
  )
}

/** HeaderBBox: left, right, top, bottom as sint64 nanodegrees. */
function readBbox(pbf: PbfReader): ExtractHeader['bbox'] {
  const side = [Number.NaN, Number.NaN, Number.NaN, Number.NaN]
  for (let field = pbf.nextField(); field !== 0; field = pbf.nextField()) {
    if (field >= 1 && field <= 4) side[field - 1] = pbf.readSVarint() * DEGREES_PER_UNIT
  }
  const [west = 0, east = 0, north = 0, south = 0] = side
  const isSane = west >= -180 && east <= 180 && south >= -90 && north <= 90 && west < east && south < north
  return isSane ? [west, south, east, north] : null
}
