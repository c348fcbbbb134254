import { accessSync, constants, type Stats, statSync } from 'node:fs'
import { messageOf } from '../errors.js'
import { type CheckContext, error, type Finding, ok, warning } from './finding.js'

/** Permission bits of group and others. */
const GROUP_AND_OTHERS = 0o077

/** Checks owner, permissions and access of the data directory and its main entries. */
export function checkPermissions({ layout }: CheckContext): Finding[] {
  const { root, stateDb, dataDb, keyFile, mapsDir, modelsDir, filesDir, tempDir, partsDir } = layout
  const rootStat = statSync(root)
  const rootFault = accessFault(root)
  if (rootFault !== null) return [rootFault] // everything inside would fail for the same reason
  const findings: Finding[] = []
  for (const file of [root, stateDb, dataDb, keyFile, mapsDir, modelsDir, filesDir, tempDir, partsDir]) {
    const found = statSync(file, { throwIfNoEntry: false })
    if (found !== undefined) findings.push(...checkEntry(file, found, rootStat, layout.keyFile))
  }
  return findings.length > 0
    ? findings
    : [ok(`all files belong to user ${rootStat.uid}, and no other user can read them`)]
}

function checkEntry(file: string, found: Stats, rootStat: Stats, keyFile: string): Finding[] {
  const findings: Finding[] = []
  if (found.uid !== rootStat.uid)
    findings.push(
      error(
        `${file} belongs to user ${found.uid}, expected user ${rootStat.uid}, the owner of the data directory`,
        `chown -R ${rootStat.uid}:${rootStat.gid} ${file}`,
      ),
    )
  const fault = accessFault(file)
  if (fault !== null) findings.push(fault)
  const isPrivate = (found.mode & GROUP_AND_OTHERS) === 0
  const mode = (found.mode & 0o777).toString(8)
  // the private directory protects the files in it; the key must be private itself, because it is copied
  // elsewhere
  if (!isPrivate && file === keyFile)
    findings.push(error(`${file} has the mode ${mode}, expected 600`, `chmod 600 ${file}`))
  else if (!isPrivate && found.isDirectory() && found.ino === rootStat.ino)
    findings.push(warning(`${file} has the mode ${mode}, expected 700`, `chmod 700 ${file}`))
  return findings
}

/** Why this user cannot read and write a file; null when it can. */
function accessFault(file: string): Finding | null {
  try {
    accessSync(file, constants.R_OK | constants.W_OK)
    return null
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'EROFS')
      return error(
        `the disk of ${file} is read-only`,
        'make a backup now (`fieldgate backup DIR` works on such a disk), read `dmesg`, and replace the disk',
      )
    return error(
      `${file} cannot be read and written by user ${process.geteuid?.()}: ${messageOf(thrown)}`,
      'run as the user that owns it, or as root',
    )
  }
}
