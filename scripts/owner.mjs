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

/**
 * Does work with an owner, whose works are done at the end.
 *
 * @param why it cannot be done here, which is printed then; false when it can
 */
export async function withOwner(why, work) {
  if (why !== false) {
    console.log(`skipped: ${why}`)
    return
  }
  const owner = createOwner()
  try {
    await work(owner)
  } finally {
    await owner.end()
  }
}
