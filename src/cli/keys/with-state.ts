import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { layoutOf } from '../../files/layout.js'
import type { KeyRecord } from '../../storage/keys.js'
import { openState } from '../../storage/sqlite/state.js'
import type { State } from '../../storage/state.js'
import type { CliDeps, GlobalOptions } from '../io.js'
import { type RunSettings, readSettings } from '../settings.js'

/** Work of a verb on the open state. */
export type Action<O> = (state: State, options: O & GlobalOptions, settings: RunSettings) => Promise<void>

/**
 * Opens the state of a data directory for one verb.
 *
 * @throws Error if the directory holds no data: a mistyped `--data-dir` must not become a new gateway
 */
export async function withState<O>(command: Command, deps: CliDeps, act: Action<O>): Promise<void> {
  const globals = command.optsWithGlobals<O & GlobalOptions>()
  const settings = readSettings(globals, deps)
  const { stateDb } = layoutOf(settings.dataDir)
  if (!existsSync(stateDb)) {
    throw new Error(
      `${settings.dataDir} holds no gateway's data: run \`fieldgate init\` with the same --data-dir first`,
    )
  }
  deps.makeFilesPrivate()
  const state = await openState(stateDb, { sessionIdleS: settings.config.session.idleS })
  try {
    await act(state, globals, settings)
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
