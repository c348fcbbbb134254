import { flatten } from '../mapping/paths.js'
import { readJsonPayload } from '../mapping/payload.js'
import { best, isObject, objectAt, type Preset } from './reading.js'

/**
 * Uplink events of ChirpStack 4, JSON integration: `application/+/device/+/event/up`. Their places are those of the
 * receivers, so none is taken.
 *
 * @see https://www.chirpstack.io/docs/chirpstack/integrations/events.html
 */
export const chirpstack: Preset = ({ levels, payload }) => {
  if (levels.at(-1) !== 'up') return null // join, ack, status, log
  const read = readJsonPayload(payload)
  if ('misfit' in read) return read
  const { value } = read
  const { devEui, deviceName } = objectAt(value, 'deviceInfo')
  if (!isObject(value) || typeof devEui !== 'string')
    return { misfit: 'payload: found no deviceInfo.devEui, expected an uplink event of ChirpStack 4' }
  const { deduplicationId, time, data, fPort, fCnt } = value
  const { rssi, snr } = best(value.rxInfo, 'rssi')
  // the codec's values go before those of the event
  const values = new Map(
    Object.entries({ device_name: deviceName, data, f_port: fPort, f_cnt: fCnt, rssi, snr }),
  )
  for (const [name, one] of flatten(value.object)) values.set(name, one)
  const key = typeof deduplicationId === 'string' ? deduplicationId : null
  return [{ device: devEui, key, time: time ?? null, values, message: value }]
}
