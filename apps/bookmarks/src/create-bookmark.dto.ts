import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, IsUrl, Length, Matches, MaxLength } from 'class-validator';

/** No NUL and no half of a surrogate pair. */
const STORABLE = /^[^\0\p{Surrogate}]*$/u;

export class CreateBookmarkDto {
  @ApiProperty({ example: 'https://www.postgresql.org/docs/' })
  @IsUrl({ require_tld: false, require_protocol: true, protocols: ['http', 'https'] })
  @MaxLength(2000)
  url!: string;

  @ApiProperty({ minLength: 1, maxLength: 200 })
  @Matches(STORABLE, { message: 'title must be text that PostgreSQL can store' })
  @Length(1, 200)
  title!: string;

  @ApiPropertyOptional({ default: '', maxLength: 100 })
  @IsOptional()
  @Matches(STORABLE, { message: 'tag must be text that PostgreSQL can store' })
  @MaxLength(100)
  tag?: string;
}
