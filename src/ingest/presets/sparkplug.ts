import { messageOf } from '../../errors.js'
import type { Misfit } from '../mapping/time.js'
import type { Preset, PresetInput, Reading } from './reading.js'
import { decodeSparkplug, type Metric, type SparkplugPayload } from './sparkplug-payload.js'

/** A metric of a BIRTH: what its alias stands for. */
interface Born {
  readonly name: string
  readonly datatype: number | undefined
}

/** Most devices whose aliases are kept. */
const MAX_DEVICES = 10_000

/**
 * Creates the reader of Sparkplug B: `spBv1.0/{group}/{N,D}{BIRTH,DATA}/{node}/{device}`. It keeps the aliases of the
 * last BIRTH of each device; data with an alias that no BIRTH has named is refused.
 */
export function createSparkplug(): Preset {
  const births = new Map<string, Map<number, Born>>()
  return ({ levels, payload }: PresetInput) => {
    const [, group, type = '', node, ...rest] = levels
    const kind = /^[ND](BIRTH|DATA)$/.exec(type)?.[1]
    if (kind === undefined || node === undefined) return null // STATE, DEATH, commands
    const device = [group, node, ...rest].join('/')
    const read = decode(payload)
    if ('misfit' in read) return read
    if (kind === 'BIRTH') keepBirth(births, device, read)
    return readingsOf(device, read, births.get(device))
  }
}

function decode(payload: Uint8Array): SparkplugPayload | Misfit {
  try {
    return decodeSparkplug(payload)
  } catch (error) {
    return { misfit: `payload: found no Sparkplug B: ${messageOf(error)}` }
  }
}

function keepBirth(
  births: Map<string, Map<number, Born>>,
  device: string,
  { metrics }: SparkplugPayload,
): void {
  const named = new Map<number, Born>()
  for (const { name, alias, datatype } of metrics)
    if (name !== undefined && alias !== undefined) named.set(alias, { name, datatype })
  births.delete(device)
  births.set(device, named)
  const [oldest] = births.keys()
  if (births.size > MAX_DEVICES && oldest !== undefined) births.delete(oldest)
}

/** Makes a reading for each time that metrics have. */
function readingsOf(
  device: string,
  payload: SparkplugPayload,
  born: ReadonlyMap<number, Born> | undefined,
): readonly Reading[] | Misfit {
  const byTime = new Map<number | null, Map<string, unknown>>()
  for (const metric of payload.metrics) {
    const found = metric.alias === undefined ? undefined : born?.get(metric.alias)
    const name = metric.name ?? found?.name
    if (name === undefined)
      return {
        misfit: `payload: found the alias ${metric.alias ?? 'none'}, expected one that a BIRTH has named`,
      }
    const time = metric.timestamp ?? payload.timestamp ?? null
    const values = byTime.get(time) ?? new Map<string, unknown>()
    byTime.set(time, values)
    values.set(name, metricValue(metric, metric.datatype ?? found?.datatype))
  }
  return [...byTime].map(([time, values]) => {
    const message = { device, seq: payload.seq, values: Object.fromEntries(values) }
    return { device, key: null, time, values, message }
  })
}

/** Bits of the types with a sign, which are sent as two's complement. */
const SIGNED: Readonly<Record<number, number>> = { 1: 8, 2: 16, 3: 32, 4: 64 }

/** Returns the JSON value of a metric; digits as text where a number would lose some. */
function metricValue({ isNull, value }: Metric, datatype: number | undefined): unknown {
  if (isNull || value === undefined) return null
  if (typeof value !== 'bigint') return value
  const bits = SIGNED[datatype ?? 0]
  const signed = bits === undefined ? value : BigInt.asIntN(bits, value)
  const number = Number(signed)
  return Number.isSafeInteger(number) ? number : String(signed)
}
