import { IsIn, IsInt, IsUUID, Length, Max, Min } from 'class-validator';
import { COUNTRIES, type Country } from './countries.js';

/** Cents; more is not sent at once. */
const MOST = 100_000_000;

export class OpenWalletDto {
  @IsIn(COUNTRIES)
  country!: Country;

  @Length(1, 100)
  owner!: string;
}

export class DepositDto {
  @IsInt()
  @Min(1)
  @Max(MOST)
  amount!: number;
}

export class TransferDto extends DepositDto {
  @IsUUID()
  to!: string;
}
