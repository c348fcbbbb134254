import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/**
 * Creates an owner that stands for a test where support of tests is used outside of one.
 *
 * @returns `teardown(work)`, `testdir()`, which makes a folder, and `end()`, which does the works, the last one first
 */
export function createOwner() {
  const works = []
  const teardown = (work) => works.push(work)
  return {
    teardown,
    testdir() {
      const dir = mkdtempSync(path.join(tmpdir(), 'fieldgate-'))
      teardown(() => rmSync(dir, { recursive: true, force: true }))
      return dir
    },
    async end() {
      for (const work of works.splice(0).reverse()) await work()
    },
  }
}
