import { flatten } from '../mapping/paths.js'
import { readJsonPayload } from '../mapping/payload.js'
import { isObject, type Preset } from './reading.js'

/** Topics below a device's that carry no readings. */
const NO_READINGS = ['availability', 'set', 'get', 'LWT', 'INFO1', 'INFO2', 'INFO3']

/**
 * JSON objects of values, with the device in the topic: Zigbee2MQTT (`zigbee2mqtt/{name}`, where a name may have
 * slashes) and Tasmota (`tele/{name}/SENSOR`). The time is `last_seen` or `Time`.
 *
 * @see https://www.zigbee2mqtt.io/guide/usage/mqtt_topics_and_messages.html
 */
export const flatJson: Preset = ({ levels, payload }) => {
  const [, ...name] = levels
  const last = name.at(-1) ?? ''
  if (name[0] === 'bridge' || NO_READINGS.includes(last)) return null
  const device = (/^(?:SENSOR|STATE)$/.test(last) ? name.slice(0, -1) : name).join('/')
  if (device === '') return { misfit: 'topic: found no device in it, expected one after the first level' }
  const read = readJsonPayload(payload)
  if ('misfit' in read) return read
  const { value } = read
  if (!isObject(value))
    return { misfit: 'payload: found JSON that is no object, expected an object of values' }
  return [
    {
      device,
      key: null,
      time: value.last_seen ?? value.Time ?? null,
      values: flatten(value),
      message: value,
    },
  ]
}
