import { flatten } from '../mapping/paths.js'
import { readJsonPayload } from '../mapping/payload.js'
import { best, isObject, objectAt, type Preset } from './reading.js'

/**
 * Uplink messages of The Things Stack 3: `v3/{application}@{tenant}/devices/{device}/up`. Fields that are empty, 0 or
 * false are left out there, so that a missing frame counter is 0.
 *
 * @see https://www.thethingsindustries.com/docs/the-things-stack/concepts/data-formats/
 */
export const thingsStack: Preset = ({ levels, payload }) => {
  if (levels.at(-1) !== 'up') return null // join, down, service, location
  const read = readJsonPayload(payload)
  if ('misfit' in read) return read
  const { value } = read
  const { dev_eui: eui, device_id: id } = objectAt(value, 'end_device_ids')
  const device = typeof eui === 'string' ? eui : id
  if (!isObject(value) || typeof device !== 'string')
    return { misfit: 'payload: found no end_device_ids, expected an uplink message of The Things Stack 3' }
  const uplink = objectAt(value, 'uplink_message')
  const { session_key_id: session, f_port = 0, f_cnt = 0, frm_payload: data } = uplink
  const { rssi, snr } = best(uplink.rx_metadata, 'rssi')
  const values = new Map(Object.entries({ device_name: id, data, f_port, f_cnt, rssi, snr }))
  for (const [name, one] of flatten(uplink.decoded_payload)) values.set(name, one)
  // without its session, two frames of a device that joined again would have one key
  const key = typeof session === 'string' ? `${device}/${session}/${String(f_cnt)}` : null
  return [{ device, key, time: value.received_at ?? null, values, message: value }]
}
