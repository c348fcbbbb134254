import { existsSync, statSync } from 'node:fs'
import path from 'node:path'
import type { DatabaseName, Databases } from '../../maintenance.js'
import { lossText, tracesOf } from '../connection/refuse-loss.js'
import { copyDatabases, isReadOnlyDisk } from '../connection/snapshot.js'
import {
  checkDatabase,
  KNOWN_VERSIONS,
  readDatabaseFacts,
  schemaVersionOf,
  withDatabase,
} from './database-facts.js'

const NAMES: readonly DatabaseName[] = ['state.db', 'data.db']

/** Copies and checks of database files. */
export function createDatabases(): Databases {
  return {
    knownVersions: KNOWN_VERSIONS,
    list: async (dir) => NAMES.filter((name) => existsSync(path.join(dir, name))),
    async lost(dir) {
      return NAMES.flatMap((name) => {
        const traces = tracesOf(dir, name, true)
        return traces.length > 0 ? [lossText(dir, name, traces)] : []
      })
    },
    isReadOnlyDisk: async (dir) => isReadOnlyDisk(path.join(dir, 'state.db')),
    copy: (dir, names, to, options) =>
      copyDatabases(
        names.map((name) => ({ from: path.join(dir, name), to: path.join(to, name) })),
        options,
      ),
    schemaVersion: async (dir, name) => withDatabase(dir, name, schemaVersionOf),
    facts: async (dir, name) => readDatabaseFacts(path.join(dir, name)),
    check: async (dir, name, depth) => withDatabase(dir, name, (db) => checkDatabase(db, depth)),
    async sizes(dir, name) {
      const file = path.join(dir, name)
      return { mainBytes: sizeOf(file), logBytes: sizeOf(`${file}-wal`) }
    },
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
