import t from 'tap'
import { conformTokensAndProfiles } from '../../../support/conformance/fleet.js'
import { conformFleetFiles, conformMembers } from '../../../support/conformance/members.js'
import { memoryState } from '../../../support/memory-state.js'

t.test('a fleet on SQLite in memory', async (t) => {
  await conformTokensAndProfiles(t, memoryState)
  await conformMembers(t, memoryState)
  await conformFleetFiles(t, memoryState)
})
