import { existsSync, statfsSync } from 'node:fs'
import path from 'node:path'
import { forecastDisk, forecastText } from '../files/disk-forecast.js'
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
export async function checkDisk(context: CheckContext): Promise<Finding[]> {
  const { layout, config } = context
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
  findings.push(...(await lifeOf(context, freeBytes)))
  // btrfs and some others have no fixed number of inodes, and report 0
  if (files > 0 && ffree / files < WARN_INODES) {
    const inodes = `${ffree} of ${files} inodes are free`
    const finding = ffree / files < ERROR_INODES ? error : warning
    findings.push(finding(inodes, 'remove files'))
  }
  return findings
}

/** Days from which on it is a warning that the disk will be full, and an error. */
const WARN_DAYS = 14
const ERROR_DAYS = 2

/** Finding on the time that the disk lasts, where the gateway has run for an hour. */
async function lifeOf(
  { layout, config, maintenance, nowUs }: CheckContext,
  freeBytes: number,
): Promise<Finding[]> {
  if (!existsSync(layout.stateDb)) return []
  const { samples, reusableBytes } = await maintenance.facts.diskSamples(layout.root)
  const now = { atUs: nowUs, freeBytes: freeBytes + reusableBytes }
  const forecast = forecastDisk(samples, now, config.limits.diskReserveBytes)
  if (forecast === undefined) return []
  const { daysLeft } = forecast
  const text = forecastText(forecast)
  if (daysLeft === null || daysLeft >= WARN_DAYS) return [ok(text)]
  const advice =
    'let old rows go: `fieldgate retention set`, or retention.minFreeBytes and retention.giveFirst'
  return [(daysLeft < ERROR_DAYS ? error : warning)(text, advice)]
}

/** `dir`, or its nearest parent that exists. */
function existingParent(dir: string): string {
  return existsSync(dir) || path.dirname(dir) === dir ? dir : existingParent(path.dirname(dir))
}
