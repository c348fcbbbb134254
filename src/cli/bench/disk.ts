import { closeSync, fsyncSync, openSync, statfsSync, writeSync } from 'node:fs'
import path from 'node:path'
import { type Row, spreadText } from './row.js'

const APPENDS = 100
const APPEND_BYTES = 4096
const LARGE_BYTES = 64 * 1024 * 1024
const CHUNK_BYTES = 1024 * 1024
/** Types of `statfs` that keep files in memory, and overlayfs, which does on some systems. */
const MEMORY_TYPES: Readonly<Record<number, string>> = { 16914836: 'tmpfs', 2240043254: 'ramfs' }

/** Measures the disk of a folder: what a commit waits for, and large files. */
export function measureDisk(dir: string): Row[] {
  const appends = appendAndSync(path.join(dir, 'appends'))
  const large = writeLarge(path.join(dir, 'large'))
  const inMemory = MEMORY_TYPES[Number(statfsSync(dir).type)]
  const note = inMemory === undefined ? '' : ` (${inMemory}: in memory, not on a disk; see --dir)`
  return [
    { part: 'disk', what: 'append of 4 kB with fsync', value: `${spreadText(appends)} ms${note}` },
    { part: 'disk', what: 'write of 64 MiB with fsync', value: `${large.toFixed(0)} MB/s` },
  ]
}

/** @returns milliseconds of each */
function appendAndSync(file: string): number[] {
  const bytes = Buffer.alloc(APPEND_BYTES, 1)
  const fd = openSync(file, 'wx')
  try {
    return Array.from({ length: APPENDS }, () => {
      const startedMs = performance.now()
      writeSync(fd, bytes)
      fsyncSync(fd)
      return performance.now() - startedMs
    })
  } finally {
    closeSync(fd)
  }
}

/** @returns megabytes a second */
function writeLarge(file: string): number {
  // not zeros, which some file systems do not write
  const chunk = Buffer.from(Uint8Array.from({ length: CHUNK_BYTES }, (_, i) => (i * 131 + (i >> 8)) & 0xff))
  const fd = openSync(file, 'wx')
  try {
    const startedMs = performance.now()
    for (let at = 0; at < LARGE_BYTES; at += CHUNK_BYTES) writeSync(fd, chunk)
    fsyncSync(fd)
    return LARGE_BYTES / 1e3 / (performance.now() - startedMs)
  } finally {
    closeSync(fd)
  }
}
