import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** Why tests on a full disk are left out; false for root, who may mount. For tap's `skip` option. */
export const cannotMount: string | false = process.geteuid?.() === 0 ? false : 'skipped: only root may mount'

/** A file system in memory, mounted for one test. */
export interface SmallDisk {
  readonly dir: string
  /** fills it to the last byte. @returns bytes that are left, as `df` prints them */
  fill(): string | undefined
}

/** Mounts a file system of `size`, such as `8m`, below the directory of a test. */
export function smallDisk(
  t: { testdir(): string; teardown(work: () => unknown): unknown },
  size: string,
): SmallDisk {
  const dir = path.join(t.testdir(), 'small')
  mkdirSync(dir)
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', dir])
  if (mounted.status !== 0) throw new Error(mounted.stderr.toString())
  t.teardown(() => spawnSync('umount', ['-l', dir]))
  return {
    dir,
    fill() {
      for (let bytes = 1 << 20; bytes >= 1024; bytes >>= 1) while (isWritten(dir, bytes));
      return spawnSync('df', ['--output=avail', '-B1', dir]).stdout.toString().split('\n')[1]?.trim()
    },
  }
}

let files = 0

function isWritten(dir: string, bytes: number): boolean {
  try {
    writeFileSync(path.join(dir, `fill-${files++}`), Buffer.alloc(bytes))
    return true
  } catch {
    return false // full at this size
  }
}
