import t from 'tap'
import { notesOf, splitClauses } from '../../../src/mapbuild/profile/notes.js'

type Tags = Record<string, string>

const tagsOf = (tags: Tags) => new Map(Object.entries(tags))

t.test('notesOf: conditions in words, by direction and traveller', async (t) => {
  const car = ['motorcar', 'motor_vehicle', 'vehicle', 'access']
  const notes = (tags: Tags) => notesOf(tagsOf(tags), car, true)
  t.same(notes({ 'maxspeed:conditional': '30 @ (22:00-06:00); 50 @ wet' }).forward, [
    'conditional speed limit: 30 at 22:00-06:00 (not applied)',
    'conditional speed limit: 50 at wet (not applied)',
  ])
  t.same(notes({ 'motor_vehicle:conditional': 'no @ (Mo-Fr 07:00-09:00; Sa 10:00-12:00)' }).backward, [
    'conditional access for motor vehicles: no at Mo-Fr 07:00-09:00; Sa 10:00-12:00 (not applied)',
  ])
  t.same(notes({ 'maxspeed:forward:conditional': '30 @ 22:00-06:00' }), {
    forward: ['conditional speed limit: 30 at 22:00-06:00 (not applied)'],
    backward: [],
  })
  t.same(notes({ 'oneway:conditional': 'yes' }).forward, [
    'conditional one-way: yes under a condition (not applied)',
  ])
  t.same(notes({ 'hgv:conditional': 'no @ 22:00-06:00', 'maxspeed:hgv:conditional': '60 @ wet' }).forward, [])
  t.same(
    notes({ maxheight: '3.5', maxweight: '7.5 st', maxwidth: 'none', ford: 'yes', toll: 'yes' }).forward,
    ['height limit 3.5 m', 'weight limit 7.5 st', 'ford', 'toll'],
  )
  t.same(notes({ width: '2.2 m', hov: 'designated' }).forward, [
    'narrow: 2.2 m wide',
    'for vehicles with several people in them only',
  ])
  for (const width of ['-1', '200', '4', '0.5', 'narrow', '8\'6"'])
    t.same(notes({ width }).forward, [], width)
  t.same(splitClauses('a @ (b; c); d @ e;; )f('), ['a @ (b; c)', 'd @ e; )f('])
  t.same(splitClauses('no @ Mo-Fr 07:00-09:00; Sa 10:00-12:00; yes @ Su'), [
    'no @ Mo-Fr 07:00-09:00; Sa 10:00-12:00',
    'yes @ Su',
  ])
})
