import { chirpstack } from './chirpstack.js'
import { flatJson } from './flat.js'
import type { Preset } from './reading.js'
import { createSparkplug } from './sparkplug.js'
import { thingsStack } from './things-stack.js'

/** Names of the presets, as in the settings. */
export type PresetName = 'chirpstack' | 'thingsStack' | 'zigbee2mqtt' | 'sparkplugB'

/** Creates the reader of a preset. */
export function createPreset(name: PresetName): Preset {
  switch (name) {
    case 'chirpstack':
      return chirpstack
    case 'thingsStack':
      return thingsStack
    case 'zigbee2mqtt':
      return flatJson
    case 'sparkplugB':
      return createSparkplug()
  }
}
