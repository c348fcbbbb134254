import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { createBlobStore } from '../files/blob-store.js'
import type { NamedModel } from '../storage/maintenance.js'
import { SWEEP_HELD } from '../storage/meta.js'
import { type CheckContext, error, type Finding, ok, warning } from './finding.js'

/**
 * Checks that the bytes that rows refer to exist, for models with their sizes. Contents are not read here:
 * the gateway verifies their digests in the background.
 */
export async function checkBlobs(context: CheckContext): Promise<Finding[]> {
  return [...(await checkModels(context)), ...(await checkHeld(context)), ...(await checkTableFiles(context))]
}

/** Bytes that no row names are kept when they are many: they may belong to a lost `state.db`. */
async function checkHeld({ layout, maintenance }: CheckContext): Promise<Finding[]> {
  const held = Number((await maintenance.facts.noted(layout.root, SWEEP_HELD)) ?? 0)
  if (held === 0) return []
  return [
    warning(
      `${layout.modelsDir} holds ${held} files that no row of state.db refers to, and they are kept`,
      'if state.db is not the one they belong to, stop the gateway and put that one back, or restore a backup; to have them removed, run `fieldgate vacuum --accept-loss`',
    ),
  ]
}

async function checkModels({ layout, maintenance }: CheckContext): Promise<Finding[]> {
  const { modelsDir: dir, tempDir } = layout
  const models = await maintenance.facts.models(layout.root)
  if (models.length > 0 && !existsSync(dir))
    return [
      error(`the directory ${dir} does not exist`, 'restore a backup: the bytes of all models are lost'),
    ]
  const damaged = models.filter((model) => model.isDamaged)
  const missing: string[] = []
  if (models.length > 0) {
    const blobs = createBlobStore({ dir, tempDir })
    for (const { sha256, sizeBytes, isDamaged } of models)
      if (!isDamaged && (await blobs.stat(sha256))?.sizeBytes !== sizeBytes) missing.push(sha256)
  }
  const findings = [
    ...findingsOf(missing, damaged, dir),
    ...quarantineFindings(await maintenance.facts.quarantinedModels(layout.root), damaged.length, dir),
  ]
  return findings.length > 0 ? findings : [ok(`the bytes of ${models.length} models exist`)]
}

function findingsOf(missing: readonly string[], damaged: readonly NamedModel[], dir: string): Finding[] {
  const findings: Finding[] = []
  const again = `upload the same file again, or copy it from bytes/<two letters>/ of a backup to ${dir}/<two letters>/ and restart`
  if (missing.length > 0)
    findings.push(error(`the bytes of ${list(missing)} are missing, or have another size`, again))
  if (damaged.length > 0)
    findings.push(
      error(
        `the bytes of ${list(damaged.map((model) => model.sha256))} were damaged and have been quarantined`,
        `${again}; if it happens again, replace the disk`,
      ),
    )
  return findings
}

function quarantineFindings(quarantinedRows: number, damagedCount: number, dir: string): Finding[] {
  const findings: Finding[] = []
  if (quarantinedRows > 0)
    findings.push(
      warning(
        `${quarantinedRows} rows of models are damaged and hidden`,
        'restore a backup, or upload the models again',
      ),
    )
  const quarantine = path.join(dir, 'quarantine')
  const count = existsSync(quarantine) ? readdirSync(quarantine).length : 0
  if (damagedCount === 0 && count > 0)
    findings.push(
      warning(`${quarantine} holds ${count} damaged files`, 'remove them when they are no longer needed'),
    )
  return findings
}

async function checkTableFiles({ layout, maintenance }: CheckContext): Promise<Finding[]> {
  const { databases, facts } = maintenance
  if (!existsSync(layout.dataDb)) return []
  // another schema version is a finding of the check "database"; its rows cannot be read here
  if ((await databases.schemaVersion(layout.root, 'data.db')) !== databases.knownVersions['data.db'])
    return []
  const used = await facts.fileDigests(layout.root)
  if (used.length === 0) return []
  const files = createBlobStore({ dir: layout.filesDir, tempDir: layout.tempDir })
  const missing: string[] = []
  for (const sha256 of used) if ((await files.stat(sha256)) === undefined) missing.push(sha256)
  if (missing.length === 0) return [ok(`the ${used.length} files of table columns exist`)]
  return [
    error(
      `files of table columns are missing: ${list(missing)}`,
      `copy them from bytes/<two letters>/ of a backup to ${layout.filesDir}/<two letters>/`,
    ),
  ]
}

/** At most three digests, and the number of all. */
function list(digests: readonly string[]): string {
  const shown = digests.slice(0, 3).join(', ')
  return digests.length > 3 ? `${digests.length} models or files (${shown}, …)` : shown
}
