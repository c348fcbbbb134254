import { PbfReader } from 'pbf'

/** A metric as it is sent. */
export interface Metric {
  /** absent where only its alias is sent */
  readonly name?: string
  readonly alias?: number
  /** ms since 1970 */
  readonly timestamp?: number
  readonly datatype?: number
  readonly isNull: boolean
  /** number and long as they are on the wire, without a sign; undefined for a form that is not read */
  readonly value: bigint | number | boolean | string | undefined
}

/** A payload of Sparkplug B. */
export interface SparkplugPayload {
  /** ms since 1970 */
  timestamp?: number
  seq?: number
  metrics: Metric[]
}

/** Largest number of metrics in one payload. */
const MAX_METRICS = 10_000

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/**
 * Decodes a payload of Sparkplug B (protobuf).
 *
 * @throws Error when it is none
 * @see Eclipse Sparkplug 3.0, section 6.4, and sparkplug_b.proto
 */
export function decodeSparkplug(bytes: Uint8Array): SparkplugPayload {
  const payload: SparkplugPayload = { metrics: [] }
  const pbf = new PbfReader(bytes)
  pbf.readFields((tag, result) => {
    if (tag === 1) result.timestamp = readNumber(pbf, 0)
    else if (tag === 3) result.seq = readNumber(pbf, 0)
    else if (tag === 2) {
      requireType(pbf, 2)
      if (result.metrics.length === MAX_METRICS) throw new Error(`more than ${MAX_METRICS} metrics`)
      result.metrics.push(pbf.readMessage(readMetric, { isNull: false, value: undefined }))
    }
  }, payload)
  if (pbf.pos !== bytes.length) throw new Error('the payload ends within a field')
  return payload
}

function readMetric(tag: number, metric: Mutable<Metric>, pbf: PbfReader): void {
  switch (tag) {
    case 1:
      metric.name = readText(pbf)
      break
    case 2:
      metric.alias = readNumber(pbf, 0)
      break
    case 3:
      metric.timestamp = readNumber(pbf, 0)
      break
    case 4:
      metric.datatype = readNumber(pbf, 0)
      break
    case 7:
      metric.isNull = readNumber(pbf, 0) === 1
      break
    case 10:
    case 11:
      metric.value = readVarint(pbf)
      break
    case 12:
      requireType(pbf, 5)
      metric.value = pbf.readFloat()
      break
    case 13:
      requireType(pbf, 1)
      metric.value = pbf.readDouble()
      break
    case 14:
      metric.value = readNumber(pbf, 0) === 1
      break
    case 15:
      metric.value = readText(pbf)
      break
    case 16:
      requireType(pbf, 2)
      metric.value = Buffer.from(pbf.readBytes()).toString('base64')
      break
  }
}

function readText(pbf: PbfReader): string {
  requireType(pbf, 2)
  return pbf.readString()
}

function readNumber(pbf: PbfReader, type: number): number {
  requireType(pbf, type)
  return Number(readVarint(pbf))
}

/** Reads a varint of up to 64 bits; the package's own function loses digits beyond 2^53. */
function readVarint(pbf: PbfReader): bigint {
  requireType(pbf, 0)
  let value = 0n
  for (let shift = 0n; shift < 70n; shift += 7n) {
    const byte = pbf.buf[pbf.pos++]
    if (byte === undefined) throw new Error('the payload ends within a number')
    value |= BigInt(byte & 0x7f) << shift
    if (byte < 0x80) return BigInt.asUintN(64, value)
  }
  throw new Error('a number has more than 10 bytes')
}

/** @throws Error for another wire type than that of the field */
function requireType(pbf: PbfReader, type: number): void {
  if (pbf.type !== type) throw new Error(`a field has the wire type ${pbf.type}, expected ${type}`)
}
