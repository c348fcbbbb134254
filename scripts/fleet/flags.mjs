import { readFlags } from '../crash/flags.mjs'

/** Flags of `npm run fleet` with their defaults; those of time and retries are the defaults of the product. */
const DEFAULTS = {
  /** base URL of the hub */
  hub: '',
  /** token of `fieldgate fleet token`, or the name of a file that holds it */
  token: '',
  gateways: 100,
  /** of all gateways together */
  'events-per-second': 200,
  minutes: 1,
  seed: 1,
  processes: 1,
  /** table that the profile of the token sends up */
  table: 'sim_points',
  'batch-wait-s': 1,
  'report-s': 180,
  'retry-base-s': 5,
  'retry-cap-s': 1800,
  'idle-timeout-s': 60,
  'keep-alive-s': 10,
  /** times at which a random part of the gateways loses its link, for up to outage-s */
  outages: 2,
  'outage-s': 20,
  /** times at which all of them lose it at once, for outage-s */
  storms: 1,
  /** of all gateways together */
  'restarts-per-minute': 6,
  'slow-percent': 5,
  'slow-bytes-per-second': 2000,
  /** share of gateways that report that they are not ready */
  'trouble-percent': 2,
  /** gateways that begin with rows that they have not sent */
  'backlog-gateways': 0,
  'backlog-rows': 0,
  /** model store of the hub; empty for no models */
  'model-store': '',
  'models-per-minute': 10,
  'model-bytes': 20_000,
  'drain-s': 120,
  /** JSON of `fieldgate key create --json`, scope map:read: rows are read back, too */
  'key-file': '',
  /** gateways whose rows are read back */
  'read-back': 200,
  /** yes: the hub counts all rows again before the comparison */
  recount: 'no',
  /** memberships and cursors are kept here, so that a later run goes on with the same gateways */
  state: '',
  /** yes: one line of JSON instead of text */
  json: 'no',
}

/** Reads the flags. @throws Error that says what was found and expected */
export function readFleetFlags() {
  const flags = readFlags(DEFAULTS)
  for (const [name, value] of Object.entries(flags))
    if (typeof value === 'number' && !(Number.isFinite(value) && value >= 0))
      throw new Error(`--${name}: found ${value}, expected a number from 0`)
  if (!/^https?:\/\//.test(flags.hub))
    throw new Error(`--hub: found ${JSON.stringify(flags.hub)}, expected the base URL of a hub`)
  if (flags.token === '' && flags.state === '')
    throw new Error(
      '--token: found none, expected a token of `fieldgate fleet token`, or --state of a former run',
    )
  if (flags.gateways < 1 || flags.processes < 1)
    throw new Error('--gateways and --processes: expected 1 or more')
  return { ...flags, hub: flags.hub.replace(/\/$/, '') }
}
