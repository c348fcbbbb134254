import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { createDiskSpace } from '../../files/disk-space.js'
import { layoutOf } from '../../files/layout.js'
import type { HubFilesDeps } from '../../fleet/hub/files.js'
import { openHubFiles } from '../../gateway/fleet/hub.js'
import type { KeyRecord } from '../../storage/access/keys.js'
import type { PostgresState } from '../../storage/postgres/state.js'
import { openState } from '../../storage/sqlite/state.js'
import type { State } from '../../storage/state.js'
import type { CliDeps, GlobalOptions } from '../io.js'
import { type RunSettings, readSettings } from '../settings.js'

/** Rows that the verbs of callers and of the fleet need: gateways and hubs both have them. */
export type SharedState = PostgresState

/** Settings of a verb, and the files of profiles beside its rows. */
export interface VerbSettings extends RunSettings {
  openFiles(): HubFilesDeps
}

/** Work of a verb on the open rows of a gateway or a hub. */
export type Action<O> = (
  state: SharedState,
  options: O & GlobalOptions,
  settings: VerbSettings,
) => Promise<void>

/** Work of a verb on the open rows of a gateway. */
export type GatewayAction<O> = (
  state: State,
  options: O & GlobalOptions,
  settings: VerbSettings,
) => Promise<void>

/**
 * Opens the rows of a gateway or a hub, whichever the settings say, for one verb.
 *
 * @throws Error if the directory holds no data, or the hub is not prepared
 */
export async function withState<O>(command: Command, deps: CliDeps, act: Action<O>): Promise<void> {
  const globals = command.optsWithGlobals<O & GlobalOptions>()
  const settings = readSettings(globals, deps)
  if (settings.config.role === 'gateway') return await withGatewayState(command, deps, act)
  const { openHubVerb } = await import('../../gateway/hub/engines/verb.js')
  deps.makeFilesPrivate()
  const { state, openFiles, close } = await openHubVerb(settings.config, settings.dataDir)
  try {
    await act(state, globals, { ...settings, openFiles })
  } finally {
    await close()
  }
}

/**
 * Opens the state of a data directory for one verb.
 *
 * @throws Error if the directory holds no data: a mistyped `--data-dir` must not become a new gateway
 */
export async function withGatewayState<O>(
  command: Command,
  deps: CliDeps,
  act: GatewayAction<O>,
): Promise<void> {
  const globals = command.optsWithGlobals<O & GlobalOptions>()
  const settings = readSettings(globals, deps)
  const layout = layoutOf(settings.dataDir, settings.config.encryption.keyFile)
  if (!existsSync(layout.stateDb)) {
    throw new Error(
      `${settings.dataDir} holds no gateway's data: run \`fieldgate init\` with the same --data-dir first`,
    )
  }
  deps.makeFilesPrivate()
  const { session, limits } = settings.config
  const state = await openState(layout.stateDb, { sessionIdleS: session.idleS })
  const openFiles = () => openHubFiles(state, layout, createDiskSpace(layout.root, limits.diskReserveBytes))
  try {
    await act(state, globals, { ...settings, openFiles })
  } finally {
    await state.close()
  }
}

/**
 * Finds a key by its id, or by a name that one key has. Revoked keys count only if no other key has the name.
 */
export function findKey(which: string, keys: KeyRecord[]): KeyRecord {
  const byId = keys.find((key) => key.keyId === which)
  if (byId !== undefined) return byId
  const sameName = keys.filter((key) => key.name === which)
  const unrevoked = sameName.filter((key) => key.revokedAtUs === null)
  const named = unrevoked.length > 0 ? unrevoked : sameName
  const [only] = named
  if (only === undefined)
    throw new Error(`no key has the id or name ${which}: \`fieldgate key list\` prints them`)
  if (named.length > 1)
    throw new Error(
      `${named.length} ${unrevoked.length > 0 ? '' : 'revoked '}keys are named ${which}: give the id of one, \`fieldgate key list\` prints them`,
    )
  return only
}
