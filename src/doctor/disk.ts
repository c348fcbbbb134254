import { existsSync, statfsSync } from 'node:fs'
import path from 'node:path'
import { error, type Finding, megabytes, ok, type Patient, warning } from './finding.js'

/** Writes are refused below the reserve; so many times of it are a warning. */
const WARN_RESERVES = 4
/** Share of the file system's names that is left when it is time to say so. */
const WARN_NAMES = 0.05
const ERROR_NAMES = 0.01

export function checkDisk({ layout, config }: Patient): Finding[] {
  const dir = nearest(layout.root)
  const { bavail, bsize, blocks, files, ffree } = statfsSync(dir)
  const freeBytes = bavail * bsize
  const reserve = config.limits.diskReserveBytes
  const room = `${megabytes(freeBytes)} of ${megabytes(blocks * bsize)} are free on the disk of ${layout.root}`
  const advice = 'make room: `fieldgate vacuum`, remove old backups and files that are not the gateway’s'
  const findings: Finding[] = []
  if (freeBytes < reserve)
    findings.push(
      error(`${room}; below limits.diskReserveBytes (${megabytes(reserve)}) writes are refused`, advice),
    )
  else if (freeBytes < reserve * WARN_RESERVES)
    findings.push(warning(`${room}; writes are refused below ${megabytes(reserve)}`, advice))
  else findings.push(ok(room))
  // btrfs and others count no names
  if (files > 0 && ffree / files < WARN_NAMES) {
    const names = `${ffree} of ${files} file names (inodes) are left`
    findings.push(ffree / files < ERROR_NAMES ? error(names, 'remove files') : warning(names, 'remove files'))
  }
  return findings
}

function nearest(dir: string): string {
  return existsSync(dir) || path.dirname(dir) === dir ? dir : nearest(path.dirname(dir))
}
