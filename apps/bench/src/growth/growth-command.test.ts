import { expect, it } from 'vitest';
import { exponentOf } from './growth-command.ts';

it('the exponent is that of the two largest sizes', () => {
  expect(exponentOf([1, 10, 100], [70, 80, 80])).toBe(0);
  expect(exponentOf([1, 10, 100], [500, 3, 30])).toBeCloseTo(1);
  expect(exponentOf([1, 4, 16], [1, 2, 32])).toBeCloseTo(2);
  expect(exponentOf([1, 10, 100], [0, 0, 0])).toBeNaN();
});
