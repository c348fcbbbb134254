import { BODIES } from './attacks/bodies.mjs'
import { CONDITIONS } from './attacks/conditions.mjs'
import { FEED_BATCHES } from './attacks/feed-batches.mjs'
import { GEOMETRIES } from './attacks/geometries.mjs'
import { LARGE_ANSWERS } from './attacks/large-answers.mjs'
import { LARGE_VALUES } from './attacks/large-values.mjs'
import { ROUTES } from './attacks/routes.mjs'
import { SOCKETS } from './attacks/sockets.mjs'
import { STRANGERS } from './attacks/strangers.mjs'
import { WRITES } from './attacks/writes.mjs'

/**
 * Attacks: `name`; `does`, in a few words; `scopes` of the attacker's key, none for a stranger;
 * `prepare(admin, scale)`, what an ordinary user of the gateway would have stored, returns facts; `run(client,
 * facts)`, never ends by itself; `seconds`, when it needs more than the usual.
 */
export const ATTACKS = [
  ...STRANGERS,
  ...CONDITIONS,
  ...ROUTES,
  ...GEOMETRIES,
  ...LARGE_ANSWERS,
  ...LARGE_VALUES,
  ...BODIES,
  ...SOCKETS,
  ...WRITES,
  ...FEED_BATCHES,
]
