import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { removeTree } from './disk-usage.js'
import { type DataprocLayout, isUuid, sessionPath } from './layout.js'

/** Directories of sessions. They are removed after the session has ended, but not during one of its runs. */
export interface SessionDirectories {
  /** Marks the start of a run. @returns function to call at its end */
  use(sessionId: string): () => void
  /** Removes the directory of a session. @returns false, and nothing is removed, during one of its runs */
  remove(sessionId: string): Promise<boolean>
  /** Returns the ids of sessions that have a directory. */
  list(): Promise<string[]>
}

/** Opens the directories of sessions. */
export function createSessionDirectories(layout: DataprocLayout): SessionDirectories {
  const running = new Map<string, number>()
  return {
    use(sessionId) {
      running.set(sessionId, (running.get(sessionId) ?? 0) + 1)
      return () => {
        const left = (running.get(sessionId) ?? 1) - 1
        if (left === 0) running.delete(sessionId)
        else running.set(sessionId, left)
      }
    },
    async remove(sessionId) {
      if (running.has(sessionId)) return false
      await removeTree(sessionPath(layout, sessionId))
      return true
    },
    list: async () => (await readdir(path.resolve(layout.sessionsDir))).filter(isUuid),
  }
}
