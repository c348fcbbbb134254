import type { Config } from '../config/config.js'
import type { Control } from '../routing/search/dijkstra.js'
import type { Work } from '../worker/host.js'
import type { Engine } from './engine.js'
import type { Maps } from './maps.js'
import type { Profiles } from './profiles.js'
import type { Themes } from './themes.js'

/** Parts of the search worker that answer its calls. */
export interface SearchParts {
  readonly config: Config
  readonly maps: Maps
  readonly themes: Themes
  readonly profiles: Profiles
  readonly engine: Engine
}

/** Creates the limits of one search: those of the settings, and the caller's cancel flag. */
export function controlOf(config: Config, work: Pick<Work, 'cancel'>): Control {
  return { cancel: work.cancel, maxSettledNodes: config.routing.maxSettledNodes }
}
