import { existsSync, statfsSync } from 'node:fs'
import path from 'node:path'
import { type CheckContext, error, type Finding, megabytes, ok, warning } from './finding.js'

/**
 * Multiple of `limits.diskReserveBytes` below which free space is a warning; below one reserve writes are
 * refused.
 */
const WARN_RESERVES = 4
/** Shares of free inodes below which they are a warning, and an error. */
const WARN_INODES = 0.05
const ERROR_INODES = 0.01

/** Checks free bytes and free inodes on the disk of the data directory. */
export function checkDisk({ layout, config }: CheckContext): Finding[] {
  const { bavail, bsize, blocks, files, ffree } = statfsSync(existingParent(layout.root))
  const freeBytes = bavail * bsize
  const reserve = config.limits.diskReserveBytes
  const space = `${megabytes(freeBytes)} of ${megabytes(blocks * bsize)} are free on the disk of ${layout.root}`
  const advice = 'free some space: run `fieldgate vacuum`, remove old backups and files of other programs'
  const findings: Finding[] = []
  if (freeBytes < reserve)
    findings.push(
      error(`${space}; below limits.diskReserveBytes (${megabytes(reserve)}) writes are refused`, advice),
    )
  else if (freeBytes < reserve * WARN_RESERVES)
    findings.push(warning(`${space}; writes are refused below ${megabytes(reserve)}`, advice))
  else findings.push(ok(space))
  // btrfs and some others have no fixed number of inodes, and report 0
  if (files > 0 && ffree / files < WARN_INODES) {
    const inodes = `${ffree} of ${files} inodes are free`
    const finding = ffree / files < ERROR_INODES ? error : warning
    findings.push(finding(inodes, 'remove files'))
  }
  return findings
}

/** `dir`, or its nearest parent that exists. */
function existingParent(dir: string): string {
  return existsSync(dir) || path.dirname(dir) === dir ? dir : existingParent(path.dirname(dir))
}
