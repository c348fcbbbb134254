import type { Words } from '../../words/en.js'

type Word = keyof Words

/** Phrases of notes, as the map build writes them → their words. Longer ones come first. */
const PHRASES: readonly (readonly [phrase: string, word: Word])[] = [
  ['conditional speed limit', 'noteSpeed'],
  ['conditional one-way', 'noteOneWay'],
  ['conditional toll', 'noteTollAt'],
  ['conditional access for everybody', 'noteAccess'],
  ['conditional access for vehicles', 'noteAccessVehicles'],
  ['conditional access for motor vehicles', 'noteAccessMotor'],
  ['conditional access for cars', 'noteAccessCars'],
  ['conditional access for bicycles', 'noteAccessBicycles'],
  ['conditional access for pedestrians', 'noteAccessFoot'],
  ['conditional height limit', 'noteHeightAt'],
  ['conditional width limit', 'noteWidthAt'],
  ['conditional weight limit', 'noteWeightAt'],
  ['conditional length limit', 'noteLengthAt'],
  ['conditional axle load limit', 'noteAxleAt'],
  ['height limit', 'noteHeight'],
  ['width limit', 'noteWidth'],
  ['weight limit', 'noteWeight'],
  ['length limit', 'noteLength'],
  ['axle load limit', 'noteAxle'],
  ['narrow', 'noteNarrow'],
  ['closed to hazardous goods', 'noteHazard'],
  ['for vehicles with several people in them only', 'noteShared'],
  ['ford', 'noteFord'],
  ['toll', 'noteToll'],
]
/** Ends of notes → their words. */
const ENDS: readonly (readonly [end: string, word: Word])[] = [
  [' (not applied)', 'noteNotApplied'],
  [' (holidays are not known)', 'noteHolidays'],
]
const SOME_CONDITION = / under a condition$/

/**
 * A note about a road in words; values and conditions stay as OpenStreetMap has them. A note with other words stays
 * as it is.
 *
 * @param say text of a word in the current language
 */
export function noteText(note: string, say: (word: Word, values?: Record<string, string>) => string): string {
  const [phrase, word] = PHRASES.find(([each]) => note === each || /^[: ]/.test(after(note, each))) ?? []
  if (phrase === undefined || word === undefined) return note
  const rest = after(note, phrase)
  const [end, endWord] = ENDS.find(([each]) => rest.endsWith(each)) ?? ['']
  const value = rest
    .slice(0, rest.length - end.length)
    .replace(/^:? /, '')
    .replace(/ wide$/, '')
  const parts = [say(word), valueText(value, say), endWord === undefined ? '' : say(endWord)]
  return parts.filter((part) => part !== '').join(' ')
}

function valueText(value: string, say: Parameters<typeof noteText>[1]): string {
  if (SOME_CONDITION.test(value)) return say('noteCondition', { value: value.replace(SOME_CONDITION, '') })
  const [, limit, condition] = /^(.*?) at (.*)$/.exec(value) ?? []
  return condition === undefined ? value : say('noteValueAt', { value: limit ?? '', condition })
}

/** What follows a phrase at the beginning of a note; empty where the note begins otherwise. */
function after(note: string, phrase: string): string {
  return note.startsWith(phrase) ? note.slice(phrase.length) : ''
}
