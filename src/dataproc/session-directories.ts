import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { removeTree } from './disk-usage.js'
import { type DataprocLayout, isUuid, sessionPath } from './layout.js'

/** Directories of sessions: they go when the session has ended, and not while a run of it goes on. */
export interface SessionDirectories {
  /** a run of the session begins. @returns tells that it has ended */
  use(sessionId: string): () => void
  /** @returns false while a run of the session goes on: ask again later */
  remove(sessionId: string): Promise<boolean>
  /** ids of sessions that have a directory */
  list(): Promise<string[]>
}

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
